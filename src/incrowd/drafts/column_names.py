"""Names of columns that tell what they contain, in several languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def tokens(name: str) -> tuple[str, ...]:
    """Return the words of a name, such as ("birth", "date") of "BirthDate" or "birth_date"."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return tuple(re.findall(r"[^\W\d_]+|\d+", spaced.casefold().replace("ß", "ss")))


def named(words: Iterable[str], *names: str) -> bool:
    """Return whether the words of a name contain one of some names, which may have several
    words."""
    text = f" {' '.join(words)} "
    close = text.replace(" ", "")
    return any(f" {each} " in text or (len(each) > 6 and each == close) for each in names)


def is_year(name: str) -> bool:
    """Return whether the name of a column says that it contains years."""
    return named(tokens(name), "year", "jahr", "annee", "ano", "anno", "jaar", "yr")


def named_in(text: str) -> tuple[str, ...]:
    """Return the names in a text, which commas separate."""
    return tuple(dict.fromkeys(" ".join(each.split()) for each in text.split(",")))


RECORDS = named_in(
    """
    duration in seconds, duration seconds, duration s, interview time, interviewtime, time sum,
    time rsi, total time, gesamtzeit, antwortzeit, completion time in seconds, start language,
    startlanguage, user language, userlanguage, startsprache, seed, last page, lastpage, letzte
    seite, max page, maxpage, distribution channel, distributionchannel, redcap data access group,
    gps altitude, gps precision, gps accuracy, geopoint altitude, geopoint precision, collector id
    """
)
FREE_WORDS = named_in("text, specify, angeben, sonstiges, comment, comments, kommentar, freitext")
VERSIONS = named_in(
    """
    version, versions, release, firmware, build, ver, kapitel, chapter, section, revision, oid
    """
)
DEVICES = named_in(
    """
    device, device id, deviceid, imei, meid, idfa, gaid, aaid, udid, uuid, guid, mac, mac
    address, macaddress, cookie, cookie id, cookieid, session, session id, sessionid,
    fingerprint, advertising id, adid, serial number, hardware id, hwid, android id, gerate id,
    geratekennung, geraet id, visitor id, client id, token, push token, imsi, iccid
    """
)
ACCOUNTS = named_in(
    """
    username, user name, login, login name, nickname, twitter, instagram, handle, screen name,
    benutzername, skype, telegram, facebook id, account name, nutzername, nick
    """
)
NATIONAL_NAMES = named_in(
    """
    ssn, social security, social security number, socialsecurity, nino, ni number, national
    insurance, nin, national id, nationalid, national number, steuer id, steuerid, steueridnr,
    idnr, steuer idnr, steuernummer, steuer identifikationsnummer, sozialversicherungsnummer,
    svnr, sv nummer, rentenversicherungsnummer, insee, nir, numero de securite sociale, securite
    sociale, secu, dni, nie, nif, codice fiscale, codicefiscale, cf, bsn, burgerservicenummer,
    personnummer, personnr, fodselsnummer, henkilotunnus, hetu, cpr, cpr nr, pesel, cpf, ahv,
    avs, ahv nr, rrn, aadhaar, aadhar, sin, tfn, nhs, nhs number, nhs no, curp, rfc, tc kimlik,
    rodne cislo, rijksregisternummer, passport, passport no, passport number, passnummer,
    reisepass, personalausweis, ausweis, driver license, drivers license, driving licence,
    fuhrerschein, tax id, tax number, tin, itin, identity number, id number, id card, medicare,
    medicare number, krankenversichertennummer, versichertennummer, insurance number, health
    card, versicherungsnummer, pasaporte, ppsn, pps, pps number
    """
)
PHONE_NAMES = named_in(
    """
    phone, telephone, telefon, tel, telefono, mobile, mobil, cell, cellphone, cell phone, handy,
    handynummer, fax, phone number, phonenumber, telefonnummer, rufnummer, telefoon, gsm, movil,
    portable, whatsapp, msisdn, mobilnummer, telefonnr, call back, callback, contact number,
    celular, telephone number, mobilenumber, mobile number, mobiltelefon, puhelin, telefone,
    cellulare
    """
)
CARD_NAMES = named_in(
    """
    card, credit card, creditcard, card number, cardnumber, kreditkarte, kartennummer, pan, cc
    number, ccnum, karte, carte
    """
)
ACCOUNT_NAMES = named_in(
    """
    iban, bank account, bankaccount, account, account number, accountnumber, konto, kontonummer,
    kontonr, bankverbindung, compte, cuenta, conto, sort code, routing number, bic, swift,
    rekening, rekeningnummer, acct
    """
)
NOT_PEOPLE = named_in(
    """
    part, parts, product, produkt, sku, article, artikel, item, isbn, ean, upc, gtin, catalog,
    catalogue, lot, batch, charge, order, invoice, rechnung, bestellung, model, modell, zip,
    zipcode, postcode, plz, postal, postleitzahl, score, points, punkte, year, jahr, version,
    versions, release, price, preis, code, icd, atc, isic, nace, population, income, salary,
    revenue, size, color, farbe, room, raum, material, teil, teilenummer, serie, series, course,
    kurs, ticket, grade, note, amount, betrag, bill, quantity, count, area, warehouse, cp, cap,
    codigo postal, code postal, bolt, component, asset, drawing, spec, standard, test, result,
    value
    """
)
LATITUDES = named_in(
    """
    lat, latitude, breite, breitengrad, latitud, latitudine, gpslat, ycoord
    """
)
LONGITUDES = named_in(
    """
    lon, lng, long, longitude, lange, laenge, langengrad, laengengrad, longitud, longitudine,
    gpslon, xcoord
    """
)
COORDINATES = named_in(
    """
    gps, coordinates, coords, coordinate, coord, koordinaten, geolocation, latlon, latlong,
    geopoint, location, geo, position, standort
    """
)
ADDRESS_NAMES = named_in(
    """
    address, adresse, anschrift, street, strasse, direccion, domicilio, indirizzo, adres,
    endereco, rue, addr, adress, wohnort, wohnadresse, home address, street address, address
    line, streetaddress, homeaddress, straat, calle, adresse postale
    """
)
PLATE_NAMES = named_in(
    """
    plate, plates, license plate, licence plate, number plate, licenseplate, numberplate,
    kennzeichen, kfz, kfz kennzeichen, nummernschild, matricula, immatriculation, targa,
    kenteken, registration, car registration, vehicle registration, vrn, reg no, reg number,
    vin, autokennzeichen, registration number, plaque, plaque d immatriculation,
    registreringsnummer
    """
)
BIRTH_NAMES = named_in(
    """
    birth, birthdate, birthday, bday, dob, dateofbirth, date of birth, geburt, geburtsdatum,
    geburtstag, geb, gebdat, naissance, nacimiento, fecha de nacimiento, nascita, nascimento,
    geboorte, geboortedatum, born, fodelsedatum, fodselsdato, urodzenia, syntymaaika, gebdatum,
    ne le, geboren, birth date, data nascita, date naissance, date de naissance
    """
)
NAME_NAMES = named_in(
    """
    first name, firstname, forename, given name, givenname, last name, lastname, surname, family
    name, familyname, full name, fullname, middle name, maiden name, vorname, nachname,
    familienname, zuname, rufname, prenom, nom, apellido, apellidos, nombre, nombres, cognome,
    nome, sobrenome, achternaam, voornaam, efternamn, fornamn, etternavn, fornavn, imie,
    nazwisko, etunimi, sukunimi, patient name, respondent name, participant name, name of
    respondent, contact person, ansprechpartner, emergency contact, fname, lname, signature,
    firstnames, your name
    """
)
RELATED_NAMES = named_in(
    """
    spouse, participant, respondent, interviewer, contact name, teacher, supervisor, doctor,
    physician, boss, manager, parent, guardian, mother s name, father s name, vor und nachname
    """
)
SHORT_NAMES = named_in(
    """
    name, names, first, last, surname, contact, person, who, customer, client, patient,
    employee, student, member, naam, namn, navn, nimi, nazwa
    """
)
OTHER_NAMES = named_in(
    """
    product, brand, company, firm, firma, school, schul, city, town, ort, file, variable, var,
    country, land, region, team, group, class, course, project, shop, store, hospital, event,
    site, drug, song, book, film, movie, street, party, dog, pet, animal, plant, species, app,
    instrument, village, district, job, occupation, title, marke, produkt, model, time, visit,
    year, department, clinic, organization, institution, university, color, item
    """
)
WEIGHTS = named_in(
    """
    pweight, pweights, wgt, pspwght, pspwt, dweight, anweight, final weight, finalweight,
    weight final, finalwt, survey weight, sample weight, sampling weight, design weight, wtssall,
    person weight, personweight, hhweight, household weight, wght, wtfinal, fnlwgt, gewichtung,
    gewichtungsfaktor, designgewicht, hochrechnungsfaktor, ponderation, peso muestral, raked
    weight, rakeweight, poststrat weight, post stratification weight, expansion factor
    """
)
WEIGHTS_OR_BODIES = named_in("weight, weights, wt, wts, gewicht, gew, poids, peso, w, weighting")
DESIGN = named_in(
    """
    psu, ssu, stratum, strata, cluster, clusterid, cluster id, primary sampling unit, schicht,
    sampling stratum, varstrat, varunit, fpc, klumpen, estrato, strate, sdmvpsu, sdmvstra, vpsu,
    vstrat, enumeration area, sampling unit, stratumid, jkn zone, replicate, repweight, strat,
    stratum id, strata id, psu id, psuid, clust, clusternummer, schichtung, stratumvar
    """
)
IDS = named_in(
    """
    id, ids, pid, uid, personid, idperson, respid, respondentid, participantid, subjectid,
    patientid, probandid, clientid, memberid, studentid, userid, panelistid, recordid, caseid,
    caseno, idno, idnr, kennung, workerid, employeeid, entityid, identifier, customerid, hhid,
    guid, uuid, nomem, nomem encr, schuelerid, fallnummer, lfdnr, fallnr, matrikelnummer,
    matrikelnr, matrikel, personalnummer, personalnr, kundennummer, kundennr, mitgliedsnummer,
    mitgliedsnr, patientennummer, teilnehmernummer, probandennummer, schulernummer,
    mitarbeiternummer, ausweisnummer, student number, student no, employee number, employee no,
    member number, member no, customer number, customer no, patient number, participant number,
    staff number, staff no, badge number, registration no, card no, roll number, laufende nummer,
    token, email, email address, e mail, e mail adresse, emailadresse, username, benutzername
    """
)
PEOPLE = named_in(
    """
    person, respondent, resp, participant, subject, subj, patient, proband, client, member,
    student, user, panelist, record, case, vpn, vp, teilnehmer, befragte, befragter, worker,
    employee, individual, indiv, entity, customer, household, hh, key, schuler, fall, pupil, child
    """
)
NOT_PERSONS = named_in(
    """
    school, class, site, interviewer, product, item, question, trial, stimulus, cluster, group,
    team, store, shop, country, region, event, form, survey, version, wave, session, visit,
    district, village, hospital, clinic, course, batch, page, block, schul, klasse, gruppe
    """
)
WAVES = named_in(
    """
    wave, waves, year, round, visit, period, session, welle, jahr, runde, instance, time, timepoint,
    t, occasion, measurement, day, week, month, quarter, messzeitpunkt, mzp, zeitpunkt, vague,
    redcap repeat instance, redcap event name, redcap repeat instrument, event, trial, ola, erhebung
    """
)
ROUNDS = named_in(
    """
    wave, waves, year, round, visit, session, welle, jahr, runde, instance, timepoint, occasion,
    messzeitpunkt, mzp, vague, redcap repeat instance, erhebung, redcap event name
    """
)
ATTRIBUTES = named_in(
    """
    attribute, variable, item, question, measure, indicator, feature, parameter, merkmal, key,
    field, frage, question id, metric, property
    """
)
VALUES = named_in("value, answer, response, wert, antwort, score, result, val, values")
FREQUENCIES = named_in(
    """
    freq, frequency, frequencies, count, counts, n, anzahl, haufigkeit, haeufigkeit, cases, people,
    persons, num people, number of people, personen, effectif, effectifs, frecuencia, frequenza
    """
)
