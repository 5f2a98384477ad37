"""Frequent given names, by which names of people differ from other words in capitals."""

NAMES = """
aaron abdul abdullah adam adele adrian agnes agnieszka ahmad ahmed aiko aisha akira alan albert
alejandra alejandro alessandro alessia alex alexander alexandra alexandre alfred ali alice alicia
alina alison amanda amelia amina amir amit amy ana anastasia anders andre andrea andreas andrew
andrzej anette angela angelika anil anita anja ann anna anne annette anton antonio anya arash aria
arjun arne arthur astrid aurelie axel aylin ayse barbara beata beatrice beatriz ben benjamin bernd
bernhard beth betty bianca birgit birgitta bjorn bob boris brenda brian bridget brigitte bruce
bruno camila camille carl carla carlos carmen carol carolina caroline catherine cecilia celine
chantal charles charlotte chen chiara chloe chris christian christiane christina christine
christoph christopher clara claude claudia clement colin connor cristina daisy dan daniel daniela
daniele danielle darren david dean deborah denis dennis derek diana diego dieter dietmar dimitri
dirk dmitri dominik dominique donald donna doris dorothea duncan dylan edith eduardo edward eileen
eleanor elena eli elias elif elisa elisabeth elizabeth elke ella ellen elsa emil emilia emily emma
emre enrico eric erica erik erika erin ernst esther ethan eugene eva evan eve eveline ewa fatima
fatma federica federico felix fernanda fernando finn fiona florence florian frances francesca
francesco francisco franco francois frank franz fred frederic frederik frieda friedrich fritz
gabriel gabriela gabriele gareth gary gavin georg george gerald gerard gerd gerhard gia gianni
gina giorgio giovanni gisela giulia giuseppe gloria grace graham greg gregory greta grzegorz guido
guillaume gunter gustav hal hamza hanna hannah hannes hans harald harry hassan heather heidi heike
heinrich heinz helen helena helga helmut hendrik henri henry herbert hermann hilda hiroshi holger
horst hugo hussein ian ibrahim ida igor ilse ines inga inge ingrid irena irene irina iris isabel
isabella isabelle ivan ivy jack jacob jacqueline jacques jaime jake jakob jakub james jamie jan
jana jane janet janine javier jean jeff jeffrey jelena jennifer jenny jens jeremy jessica jim jing
joachim joan joana joao johan johann johanna john jonas jonathan jorg jorge jose josef joseph
joshua joyce juan judith judy julia julian julie julien jun jurgen justin karen karim karin karl
karla karsten kasia katarina katarzyna kate katharina katherine kathleen kathryn katja katrin
kelly ken kenji kenneth kerstin kevin khaled kim kirsten klara klaus kofi konrad krzysztof kurt
kyle lara lars laura lauren laurent lea leah leila lena leo leon leonie leszek lewis liam lida
lily lin lina linda lisa liu liv livia lorenzo louis louise lucas lucia lucie lucy luigi luis
luisa luise luka lukas lydia magda magdalena maja malik malte manfred manuel manuela mara marc
marcel marco marcus margaret margit maria mariam marian marie mario marion marius marjan mark
markus marlene marta martha martin martina mary mateusz mathias mathieu mats matt matteo matthew
matthias maurice max maximilian maya mehmet mei melanie melissa mia michael michal michel michele
michelle miguel mikael mikko milan milena minh mira miriam mohamed mohammad mohammed mona monika
monique moritz muhammad mustafa nadia nadine nadja naomi natalia natalie nathalie nathan neil nele
nia nick nicolas nicole niklas nikolai nils nina noah noel nora norbert olaf ole oleg olga oliver
olivia olivier omar oscar oskar otto pablo paola paolo pascal patricia patrick paul paula pauline
pavel pedro peggy peter petra philip philipp philippe phoebe pia pierre piotr priya quentin quinn
rachel rafael raj ralf ralph rania raul rebecca regina reinhard renate rene ricardo richard rick
rita robert roberta roberto robin roger roland rolf roman ronald rosa rose rosemary ross rudi
rudolf ruth ryan sabine sabrina sally salma sam samantha samir samuel sandra sanjay sara sarah
sascha sean sebastian selma sergei sergio sharon sheila silke silvia simon simone sofia sonia
sonja sophia sophie stefan stefanie stefano stephan stephanie stephen steve steven stuart sunita
susan susana susanne suzanne sven svetlana sylvia sylvie tadeusz takashi tamara tanja tara tariq
tatiana ted teresa theo theresa thierry thomas thorsten tim timo tina tobias todd tom tomas tomasz
tony torsten tracy tristan udo ulla ulrich ulrike ursula uta uwe valentina valerie vanessa vera
veronica veronika vicky victor victoria viktor vincent vincenzo violet virginia vivian vladimir
walter waltraud wanda wei wendy werner wilhelm will william wolfgang xavier yan yasmin yolanda
yuki yusuf yvonne zara zoe zofia zuzanna
"""
GIVEN_NAMES = frozenset(NAMES.split())
