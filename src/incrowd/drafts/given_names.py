"""Frequent given names, by which names of people differ from other words in capitals."""

NAMES = """
aaron abdul abdullah abigail adam adele adrian agnes agnieszka ahmad ahmed aiden aiko aisha akira
alan albert alejandra alejandro alessandro alessia alex alexander alexandra alexandre alfred ali
alice alicia alina alison alma amal amanda amara amelia amelie amina amir amit amy ana anastasia
anders andre andrea andreas andrew andrzej anette angela angelika angus anil anita anja ann anna
anne annette anouk antoine anton antonio anya arash aria arjen arjun arne arthur arya asher ashley
astou astrid aurelie aurora ava axel aylin ayse barbara bastian beata beatrice beatriz bella ben
benjamin bernd bernhard beth betty bianca birgit birgitta bjorn bob boris brenda brian bridget
brigitte bruce bruna bruno caio caleb camila camille carl carla carlo carlos carmen carol carolina
caroline caspar catherine cecilia celine chantal charles charlie charlotte chen chiamaka chiara
chidi chika chloe chris christian christiane christina christine christoph christopher claire
clara clarissa claude claudia clement colin connor cora corinna cristina daisy dalia dan daniel
daniela daniele danielle dario darren david davide dean deborah denis deniz dennis derek devon
diana diego dieter dietmar dimitri dinesh dirk dmitri dominik dominique donald donna doris
dorothea duncan dylan ebba edgar edith eduardo edward eero eileen eleanor elena eli elias elif
elin elina elisa elisabeth elise elizabeth elke ella ellen ellie eloise elsa elsie emanuel emil
emilia emily emma emre enrico enzo eric erica erik erika erin ernst esme esther eszter ethan ethel
eugene eva evan eve eveline ewa ezra fabian fadi farah fatima fatma fatou federica federico felix
fernanda fernando finn fiona florence florian frances francesca francesco francisco franco
francois frank franz fred frederic frederik freja freya frida frieda friedrich fritz gabriel
gabriela gabriele gareth gary gavin gemma georg george gerald gerard gerardo gerd gerhard gia
giacomo gianni gina giorgio giovanni gisela giulia giuseppe gloria grace graham greg gregory greta
grzegorz gudrun guido guillaume gunter gustav gwen haakon hailey hal hamza hana hanna hannah
hannes hans harald harper harriet harry hassan heather hector heidi heike heinrich heinz helen
helena helga helmut hendrik henri henry herbert hermann hideo hilda hiroshi holger horst hugo
hussein ian ibrahim ida igor ilona ilse imani imke inaya ines inga inge ingo ingrid irena irene
irina iris isaac isabel isabella isabelle isla ismail ivan ivana ivy jack jacob jacqueline jacques
jaime jake jakob jakub james jamie jan jana jane janet janine jasmin jasmine jasper javier jayden
jayla jean jeff jeffrey jelena jennifer jenny jens jeremy jessica jim jing joachim joan joana joao
joel johan johann johanna john jolanta jonas jonathan jorg jorge joris jose josef joseph josephine
joshua joyce juan jude judith judy julia julian julie julien jun jurgen justin kamal karen karim
karin karl karla karolina karsten kasia katarina katarzyna kate katharina katherine kathleen
kathryn katja katrin katy kelly ken kenia kenji kenneth kerry kerstin kevin khaled kieran kim
kirsten kirsty klara klaus kofi konrad krzysztof kurt kwame kyle lakshmi lamar lara larissa lars
laura lauren laurent layla lea leah leila lena lennart leo leon leonie leopold leszek lewis liam
lida lilian lilly lily lin lina linda lisa liu liv livia logan lorena lorenzo lorna louis louise
lucas lucia lucie lucy ludwig luigi luis luisa luise luka lukas luna luz lydia mads maeve magda
magdalena magnus maja malik malina malte manfred manuel manuela mara marc marcel marco marcus
margaret margit maria mariam marian marie mario marion marius marjan mark markus marlene marlon
marta martha martin martina mary mason mateo mateusz mathias mathieu matilda mats matt matteo
matthew matthias mattias maurice max maxim maximilian maya mehmet mei melanie melissa merle mia
michael michal michel michele michelle miguel mikael mikko mila milan milena milo mina minh mira
miriam mohamed mohammad mohammed mohan molly mona monika monique morgan moritz muhammad mustafa
nadia nadine nadir nadja naomi natalia natalie nathalie nathan neil nele nell nia nick nicolas
nicole nikita niklas nikola nikolai nils nina noah noel noor nora norbert noura nuno odette olaf
ole oleg olena olga oliver olivia olivier omar oriol oscar oskar otto owen pablo paige paola paolo
pascal patricia patrick patrik paul paula pauline pavel pedro peggy penelope percy peter petr
petra philip philipp philippe phoebe pia pierre pilar piotr poppy priscilla priya quentin quinn
rachel radek rafael rafaela raj rajesh ralf ralph rana rania raul ravi rebecca regina reinhard
renate rene reza rhea ricardo richard rick riley rita robert roberta roberto robin rocio roger
roland rolf roman ronald rosa rosalie rose rosemary ross rowan ruben rudi rudolf rufus runa ruth
ryan sabine sabrina salim sally salma sam samantha sami samir samuel sana sandra sanjay santiago
sara sarah sascha saskia savannah seamus sean sebastian selina selma sergei sergio shane sharon
sheila shirin sigrid silas silke silvia simon simone sinead siobhan sofia sofie sonia sonja sophia
sophie soren stefan stefanie stefano stella stephan stephanie stephen steve steven stuart sunita
suresh susan susana susanne suzanne sven svetlana sylvia sylvie tadeusz takashi tamara tanja tara
tariq tatiana ted teresa tessa theo theresa thiago thierry thomas thorsten tiago tilda tim timo
tina titus tobias todd tom tomas tomasz tony torsten tove tracy tristan udo ulla ulrich ulrike uma
ursula uta uwe vaclav valentina valeria valerie vanessa vera veronica veronika vicky victor
victoria viktor vince vincent vincenzo violet virginia vivek vivian vladimir walter waltraud wanda
wei wendy werner wiktor wilhelm will willem william wolfgang xavier xenia yan yara yasmin ying
yolanda yosef yuki yuna yusuf yvonne zainab zara zoe zofia zoltan zuzanna
"""
GIVEN_NAMES = frozenset(NAMES.split())
