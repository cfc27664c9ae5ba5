"""Words of many languages: how columns are called, how cells say a sex, yes, no, or that nothing is known.

Words are written without blanks, accents and capitals. This is data alone, so that a language is added by
adding words. It is public: a field may be named after a word of it, as everybody with such a column would.
"""

from __future__ import annotations

from accord.drafting.kinds import ColumnKind

_CALLED: dict[ColumnKind, str] = {
    ColumnKind.ID: (
        "id rowid recordid recid pid uid uuid key nr no num number nummer lfdnr row index identifiant "
        "patientid patientno patientnr personid personnr customerid customerno kundennummer kundennr "
        "kundenid clientid memberid productid itemid recordno recordnr laufnummer datensatz codigo "
        "sku articlenumber partnumber artikelnummer artnr numero klantnummer klantnr kundnummer lp "
        "uniqueid cluster numcliente idcliente codiceclienti "
        "relatienummer relatienr cislo evidencnicislo evcislo evc poradovecislo porcislo "
        "azonosito sorszam lobenr asiakasnumero numeroprocesso processo"
    ),
    ColumnKind.GIVEN: (
        "given givenname first firstname fname forename forenames christianname vorname vornamen "
        "rufname prenom prenoms nombre nombres nome primernombre namefirst voornaam voornamen primeironome "
        "imie imiona fornamn tilltalsnamn roepnaam nomeproprio "
        "nomesproprios jmeno krestnijmeno meno krstnemeno keresztnev utonev fornavn etunimi etunimet "
        "prenume prenumele ime"
    ),
    ColumnKind.SURNAME: (
        "surname last lastname lname familyname family nachname familienname zuname nomdefamille nomfamille "
        "apellido apellidos apellido1 primerapellido apellidopaterno cognome namelast achternaam apelido "
        "sobrenome ultimonome nazwisko efternamn surname1 lastname1 "
        "geslachtsnaam familienaam geboortenaam achternamen numele "
        "apelidos prijmeni priezvisko vezeteknev csaladnev efternavn etternavn sukunimi numedefamilie "
        "prezime priimek"
    ),
    ColumnKind.PREFIX: "tussenvoegsel tussenvoegsels voorvoegsel voorvoegsels namensvorsatz surnameprefix",
    ColumnKind.SURNAME_2: (
        "surname2 secondsurname lastname2 secondlastname apellido2 segundoapellido apellidomaterno apelido2 "
        "zweiternachname secondocognome sobrenome2"
    ),
    ColumnKind.MIDDLE: (
        "middle middlename mname secondname middleinitial zweitername zweitname zweitvorname deuxiemeprenom "
        "segundonombre tweedenaam nomedomeio drugieimie mellannamn secondonome mi"
    ),
    ColumnKind.NAME: (
        "name person patient customer client kunde mitglied fullname wholename personname patientname "
        "customername clientname vollername nom nombrecompleto nomecompleto nomcomplet nomprenom "
        "firstandsurname nameandsurname naam volledigenaam klant imieinazwisko namn fullstandigtnamn cliente "
        "nominativo "
        "celejmeno jmenoaprijmeni menoapriezvisko nev teljesnev navn fuldenavn fulltnavn nimi "
        "kokonimi nume numecomplet imeiprezime imeinpriimek"
    ),
    ColumnKind.BIRTH: (
        "birth geb dob birthdate dateofbirth birthday bdate born geburtsdatum gebdatum gebdat geburtstag "
        "geboren gebam datedenaissance naissance datenaissance fechanacimiento fechadenacimiento "
        "nacimiento datadinascita datanascita nascita geboortedatum geboorte datanascimento "
        "datadenascimento nascimento dataurodzenia urodzony fodelsedatum fodd naiss "
        "nac nasc ur urodz urodzenia "
        "datumnarozeni narozen narozena narozeni datumnarodenia narodeny narodena narodenie nar "
        "szuletesidatum szuletesi szuletett fodselsdato fodselsdag fodt syntymaaika syntynyt "
        "ddn datanasterii nasterii datumrodenja rojstnidatum"
    ),
    ColumnKind.BIRTH_YEAR: (
        "birthyear yearofbirth yob birthyr byear geburtsjahr gebjahr jahrgang anneenaissance "
        "anneedenaissance anonacimiento anodenacimiento annonascita annodinascita geboortejaar "
        "anonascimento anodenascimento rokurodzenia fodelsear "
        "roknarozeni roknarodenia szuletesiev fodselsar syntymavuosi"
    ),
    ColumnKind.BIRTH_MONTH: (
        "birthmonth monthofbirth mob bmonth geburtsmonat gebmonat moisnaissance moisdenaissance "
        "mesnacimiento mesdenacimiento mesenascita mesedinascita geboortemaand mesnascimento "
        "mesdenascimento miesiacurodzenia fodelsemanad"
    ),
    ColumnKind.BIRTH_DAY: (
        "birthday dayofbirth bday geburtstag gebtag journaissance jourdenaissance dianacimiento "
        "diadenacimiento giornonascita giornodinascita geboortedag dianascimento diadenascimento "
        "dzienurodzenia fodelsedag"
    ),
    ColumnKind.AGE: "age ageyears ageinyears alter edad eta idade leeftijd wiek alder vek ika kor varsta",
    ColumnKind.SEX: (
        "sex gender sexcode gendercode geschlecht geschl sexe genre sexo genero sesso geslacht plec kon "
        "geslachtsaanduiding pohlavi pohlavie neme kjonn sukupuoli spol "
        "anrede civilite title titulo titre tratamiento tratamento salutation aanhef osloveni"
    ),
    ColumnKind.HOUSE: (
        "house housenumber houseno housenr streetnumber streetno hausnummer hausnr hnr numerorue numrue "
        "numvoie numerovoie numerocalle civico numerocivico huisnummer huisnr numeroporta nrdomu numerdomu "
        "husnummer addressnumber "
        "cislopopisne cislodomu supisnecislo orientacnicislo hazszam husnr talonumero"
    ),
    ColumnKind.STREET: (
        "street streetname streetaddress address address1 addressline1 addr addr1 strasse str anschrift "
        "adresse adresse1 rue voie calle direccion via indirizzo straat straatnaam adres rua morada endereco "
        "ulica gata gatuadress adress utdelningsadress domicilio residenza recapito logradouro vejnavn "
        "ulice adresa bydliste trvalebydliste bydlisko utca lakcim vej gade gateadresse "
        "katuosoite osoite strada"
    ),
    ColumnKind.CITY: (
        "city town place municipality suburb ort wohnort stadt gemeinde ville commune "
        "ciudad localidad poblacion municipio citta comune plaats woonplaats gemeente cidade miasto "
        "miejscowosc stad postort localidade concelho localite localita "
        "obec mesto mestoobec varos telepules poststed kommune kaupunki postitoimipaikka oras "
        "localitate localitatea orasul naselje woonplaatsnaam"
    ),
    ColumnKind.POSTCODE: (
        "postcode postalcode zip zipcode zip5 plz postleitzahl codepostal codigopostal cp cap postnummer cep "
        "kodpocztowy codicepostale postnr codpostal cpostal "
        "psc smerovacicislo postovnismerovacicislo iranyitoszam irsz postinumero postanskibroj"
    ),
    ColumnKind.PHONE: (
        "phone phonenumber phoneno telephone tel telno mobile mobilephone cell cellphone telefon "
        "telefonnummer telefonnr handy handynummer mobil mobilnummer rufnummer portable telefono "
        "movil cellulare telefoon telefoonnummer mobiel telefone telemovel celular komorka telnr "
        "telefonu telefonico contact contacto contatto contato kontakt kontaktowy mobiltelefon "
        "telefoonnr telefonni telefonne telefonnicislo telefonnecislo mobilni telefonszam tlf tlfnr "
        "puhelin puhelinnumero telefonul gsm gsmnummer tfno mobilnr"
    ),
    ColumnKind.EMAIL: (
        "email mail emailaddress mailaddress emailadresse courriel correo correoelectronico emailadres "
        "epost adresemail mel emailaddr mailaddr postaelettronica "
        "correio correioeletronico correioeletr emailcim sahkoposti epostadresse emailova mailova"
    ),
    ColumnKind.LATITUDE: "latitude lat breite breitengrad geobreite latitud latitudine breedtegraad",
    ColumnKind.LONGITUDE: (
        "longitude lon lng long laenge lange langengrad geolange longitud longitudine lengtegraad"
    ),
}
_COMPANIES = (
    "company companyname firm firmname business businessname organisation organization organisationname "
    "organizationname org orgname nameorg corporation corporatename employer enterprise legalname "
    "legalentityname tradename tradingname registeredname entityname accountname suppliername vendorname "
    "supplier firma firmenname firmenbezeichnung firmierung unternehmen unternehmensname betrieb "
    "gesellschaft handelsname arbeitgeber lieferant raisonsociale societe nomsociete entreprise "
    "nomentreprise denominationsociale nomcommercial enseigne etablissement empresa nombreempresa "
    "razonsocial nombrecomercial denominacionsocial compania sociedad organizacion ragionesociale azienda "
    "nomeazienda denominazionesociale ditta impresa societa bedrijf bedrijfsnaam onderneming handelsnaam "
    "firmanaam organisatie razaosocial nomeempresa nomecomercial denominacaosocial nomefantasia companhia "
    "organizacao spolka nazwaspolki nazwafirmy przedsiebiorstwo nazwapodmiotu organizacja nazevfirmy "
    "obchodnijmeno obchodnifirma spolecnost nazevspolecnosti podnik organizace obchodnemeno spolocnost "
    "nazovspolocnosti nazovfirmy organizacia ceg cegnev cegneve vallalat vallalkozas szervezet "
    "denumirefirma societate denumiresocietate companie intreprindere tvrtka nazivtvrtke poduzece "
    "podjetje nazivpodjetja imepodjetja foretag foretagsnamn bolag bolagsnamn virksomhed virksomhedsnavn "
    "firmanavn selskab selskabsnavn bedrift bedriftsnavn foretak foretaksnavn selskap selskapsnavn "
    "organisasjon yritys yrityksennimi yritysnimi toiminimi yhtio organisaatio"
)
_NAMED: dict[ColumnKind, dict[str, str]] = {
    ColumnKind.IDENTIFIER: {
        "": (
            "nationalid nationalnumber insurancenumber insuranceno versichertennummer versicherungsnummer "
            "kvnr ausweisnummer mpn modelno modelnumber doi imei vin nationalidnumber "
            "numeroutente nutente driverslicense driverslicensenumber driverlicense licensenumber"
        ),
        "ssn": (
            "ssn socialsecuritynumber socsecid socialsecurity sozialversicherungsnummer rvnr svnr nir "
            "numerosecu numerosecuritesociale numss nino bsn pesel personnummer dni nif cpf nie "
            "codicefiscale medicareid contribuinte numerocontribuinte "
            "rodnecislo rc tajszam cpr cprnr henkilotunnus cnp oib emso"
        ),
        "nhs": "nhs nhsnumber nhsno",
        "passport": "passport passportnumber passnummer reisepass passeport pasaporte passaporto",
        "tax": (
            "taxid vat vatid vatno vatnumber steuerid steuernummer ustid ustidnr ustidnummer siren siret "
            "partitaiva cif nip btwnummer"
        ),
        "ean": "ean ean13 gtin upc barcode strichcode codebarres",
        "isbn": "isbn isbn13 isbn10",
        "issn": "issn",
        "iban": "iban bankaccount kontonummer",
    },
    ColumnKind.PRICE: {
        "": (
            "price amount cost unitprice listprice msrp preis betrag verkaufspreis einzelpreis vkpreis "
            "prix montant precio importe prezzo importo prijs bedrag preco valor cena kwota pris belopp"
        ),
    },
    ColumnKind.YEAR: {
        "": (
            "year jahr annee ano anno jaar rok ar releaseyear startyear publicationyear pubyear "
            "erscheinungsjahr baujahr anneeparution yearofpublication"
        ),
        "death_year": "deathyear yearofdeath sterbejahr todesjahr anneedeces anneededeces",
        "last_year": "endyear",
    },
    ColumnKind.DATE: {
        "": (
            "date day datum tag jour fecha giorno data dzien dag pickupdate orderdate saledate created "
            "createdat timestamp kaufdatum releasedate published publicationdate"
        ),
        "visit": (
            "admission admissiondate visitdate aufnahmedatum dateadmission fechaingreso visit "
            "dataricovero opnamedatum"
        ),
        "founded": (
            "founded foundingdate foundationdate dateoffoundation incorporationdate dateofincorporation "
            "grundungsdatum gruendungsdatum datecreation datedecreation dateimmatriculation "
            "fechaconstitucion fechadeconstitucion datacostituzione datadicostituzione oprichtingsdatum "
            "dataconstituicao datadeconstituicao dataabertura datazalozenia datumvzniku datumzalozeni "
            "datumzalozenia alapitasdatuma bildandedatum stiftelsesdato etableringsdato perustamispaiva "
            "datainfiintarii datumosnivanja datumustanovitve"
        ),
        "death": "deathdate dateofdeath dod sterbedatum todesdatum datedeces datededeces",
    },
    ColumnKind.NUMBER: {
        "": "quantity qty menge anzahl quantite cantidad quantita aantal quantidade ilosc antal",
        "weight": "weight gewicht poids peso waga vikt",
        "height": "height hohe groessecm taille altura altezza lengte wzrost langd",
        "runtime": (
            "runtime runtimeminutes duration laufzeit dauer duree duracion durata duracao speelduur speltid "
            "spilletid kesto trajanje czastrwania jatekido"
        ),
        "pages": "pages pagecount seiten seitenzahl nombredepages paginas pagine",
        "episode": "episode episodenumber episodeno folge",
        "season": "season seasonnumber seasonno staffel",
        "volume": "volume vol band tome",
    },
    ColumnKind.YESNO: {
        "deceased": "deceased dead verstorben decede fallecido deceduto overleden falecido zmarly avliden",
        "active": "active isactive aktiv actif activo attivo actief ativo aktywny",
        "smoker": "smoker smoking raucher fumeur fumador fumatore roker",
        "consent": "consent einwilligung consentement consentimiento consenso toestemming",
    },
    ColumnKind.CATEGORY: {
        "": "category kategorie categorie categoria group gruppe groupe grupo gruppo groep",
        "type": "type kind class art typ klasse tipo clase classe soort",
        "brand": (
            "brand maker manufacturer vendor make marke hersteller marque fabricant marca fabricante "
            "marchio merk fabrikant producent varumarke"
        ),
        "department": "department abteilung departement departamento reparto afdeling",
        "status": "status zustand etat stato",
        "country": "country land pays pais paese kraj origincountry nation countrycode",
        "region": "state region bundesland province provincia provincie voivodeship wojewodztwo lan county "
        "judet judetul",
        "colour": "colour color farbe couleur colore kleur cor kolor farg",
        "size": "size groesse grosse taglia maat tamanho talla rozmiar storlek",
        "language": "language sprache langue idioma lingua taal jezyk sprak lang",
        "nationality": (
            "nationality staatsangehorigkeit nationalitat nationalite nacionalidad nazionalita nationaliteit "
            "nacionalidade narodowosc obywatelstwo statniprislusnost statnaprislusnost allampolgarsag "
            "nationalitet medborgarskap statsborgerskab statsborgerskap kansalaisuus cetatenie drzavljanstvo "
            "citizenship cittadinanza"
        ),
        "marital_status": (
            "maritalstatus civilstatus familienstand etatcivil situationfamiliale estadocivil statocivile "
            "burgerlijkestaat stancywilny rodinnystav csaladiallapot civilstand sivilstand siviilisaaty "
            "starecivila bracnostanje"
        ),
        "ethnicity": "ethnicity race ethnicgroup",
        "blood_type": "bloodtype bloodgroup blutgruppe groupesanguin gruposanguineo grupposanguigno",
        "occupation": (
            "occupation profession job beruf metier profesion ocupacion professione beroep zawod "
            "povolani povolanie foglalkozas yrke ammatti profesie zanimanje"
        ),
        "birth_place": (
            "birthplace placeofbirth geburtsort lieunaissance lieudenaissance lugarnacimiento "
            "lugardenacimiento luogonascita luogodinascita geboorteplaats geburtsland "
            "mistonarozeni miestonarodenia szuletesihely fodested fodelseort syntymapaikka loculnasterii "
            "birthstate stateofbirth birthcountry countryofbirth birthcity birthtown birthparish "
            "geburtsgemeinde communenaissance communedenaissance villenaissance villedenaissance "
            "paysnaissance paysdenaissance paisnacimiento paisdenacimiento municipionacimiento "
            "provincianacimiento comunenascita comunedinascita provincianascita statonascita geboorteland "
            "geboortegemeente localnascimento localdenascimento paisnascimento naturalidade "
            "miejsceurodzenia krajurodzenia zemenarozeni krajinanarodenia fodelseforsamling fodelsesocken "
            "fodelseland fodesogn fodeland synnyinpaikka syntymamaa taranasterii mjestorodenja "
            "drzavarodenja krajrojstva drzavarojstva"
        ),
        "parish": (
            "parish kirchspiel pfarrei paroisse parroquia parrocchia parochie freguesia parafia farnost "
            "forsamling socken sogn menighet seurakunta parohie zupa zupnija"
        ),
        "legal_form": (
            "legalform legaltype companytype entitytype rechtsform gesellschaftsform formejuridique "
            "naturejuridique formajuridica formagiuridica naturagiuridica rechtsvorm naturezajuridica "
            "formaprawna pravniforma pravnaforma jogiforma cegforma pravnioblik pravnaoblika bolagsform "
            "juridiskform selskabsform virksomhedsform organisasjonsform selskapsform organisationsform "
            "yritysmuoto yhtiomuoto"
        ),
        "industry": (
            "industry sector industrysector lineofbusiness businessactivity sic siccode naics naicscode "
            "nace nacecode branche wirtschaftszweig gewerbe branchencode secteur secteuractivite activite "
            "codenaf naf codeape ape actividad actividadeconomica sectoractividad cnae settore "
            "settoreattivita attivita ateco codiceateco bedrijfstak sbi sbicode setor setoratividade "
            "atividade cae branza pkd obor odvetvi odvetvie agazat teaor domeniuactivitate caen "
            "djelatnost dejavnost bransch naring bransje naering toimiala"
        ),
        "payment": (
            "paymentmethod paymenttype paymentmode zahlungsart zahlungsweise modepaiement modedepaiement "
            "moyenpaiement moyendepaiement formapago formadepago metodopago metododepago modalitapagamento "
            "modalitadipagamento metodopagamento metododipagamento betaalwijze betaalmethode formapagamento "
            "formadepagamento sposobplatnosci formaplatnosci zpusobplatby sposobplatby fizetesimod "
            "betalningssatt betalingsmate betalingsmetode maksutapa modalitateplata nacinplacanja "
            "nacinplacila"
        ),
        "cuisine": "cuisine cuisines kuche kueche cucina cocina keuken kuchnia cozinha kok",
        "genre": (
            "genres genrelist gattung genre genero generos genere generi gatunek zanr zaner mufaj sjanger "
            "lajityyppi genurile"
        ),
    },
    ColumnKind.COMPANY: {"": _COMPANIES},
    ColumnKind.TEXT: {
        "": "text item itemname",
        "title": (
            "title titel titre titulo titolo tytul productname producttitle artikelname produktname "
            "bezeichnung artikelbezeichnung product artikel produkt producto prodotto libelle "
            "nomproduit designation denominacion denominazione primarytitle tittel nazev nazov naziv "
            "nimeke titlu"
        ),
        "original_title": (
            "originaltitle titulooriginal titreoriginal originaltitel titolooriginale tytuloryginalny "
            "oorspronkelijketitel originalnazev originaltittel alkuperaisnimi"
        ),
        "website": (
            "website web url homepage webpage webaddress webseite webadresse internetseite internet www "
            "domain siteweb siteinternet paginaweb sitioweb sitoweb sitointernet webadres webpagina "
            "stronawww stronainternetowa webovestranky webovastranka honlap weboldal mreznastranica "
            "webstranica spletnastran webbplats hemsida webbsida hjemmeside nettside nettsted verkkosivu "
            "verkkosivusto kotisivu"
        ),
        "description": (
            "description desc beschreibung produktbeschreibung descripcion descrizione omschrijving "
            "descricao opis beskrivning abstract summary zusammenfassung resume resumen"
        ),
        "comment": (
            "comment comments note notes remarks bemerkung bemerkungen kommentar commentaire "
            "comentario osservazioni opmerking uwagi anmarkning observaciones remarque remark "
            "annotation anmerkung anmerkungen notiz notizen hinweis nota notas comentarios "
            "commentaires remarques observation observations annotazioni opmerkingen notities uwaga "
            "observacao observacoes anteckning anteckningar "
            "poznamka poznamky pozn megjegyzes bemaerkning bemerkning merknad huomautus observatii "
            "napomena"
        ),
        "venue": "venue journal booktitle conference zeitschrift revue revista rivista",
        "author": "author authors autor autoren auteur auteurs autores autore autori writer forfattare",
        "actor": "actor actors actorname starring cast schauspieler darsteller acteur acteurs",
        "director": (
            "director directors directorname regisseur regie realisateur regia regista directedby realizador "
            "realizacao diretor directores rezyser rezie reziser rendezo regissor ohjaaja regizor redatelj"
        ),
        "publisher": "publisher verlag editeur editorial editore uitgever",
    },
}
_GROUPS = {**{kind: {"": words} for kind, words in _CALLED.items()}, **_NAMED}
WORDS = {
    kind: {word: name for name, words in groups.items() for word in words.split()}
    for kind, groups in _GROUPS.items()
}
"""By type, the words that columns are called by; each with the name that a field has of it, or none."""
THING = "title"
"""What the name of a thing is called."""
REMARK = "comment"
"""What remarks are called."""
OF_A_PERSON = frozenset(
    [
        "death", "death_year", "deceased", "birth_place", "nationality", "country", "region", "language",
        "occupation", "height", "marital_status", "parish", "ethnicity", "blood_type", "colour",
    ]
)  # fmt: skip
"""What else says who somebody is, by its name."""
OF_A_THING = frozenset(
    [
        "title",
        "original_title",
        "brand",
        "genre",
        "cuisine",
        "author",
        "actor",
        "director",
        "publisher",
        "venue",
    ]
)
"""What only things have, by its name."""
OF_A_FIRM = frozenset(["company", "website", "legal_form", "industry", "founded"])
"""What firms have, by its name; somebody may work for one."""
MAKERS = frozenset(["author", "actor", "director"])
"""Who made a thing: people, whose names stand in one cell."""
GENERAL = ("", "type")
"""Names that any other word of a header goes before: a type of cuisine is a cuisine."""
NUMBERS = frozenset(["id", "no", "nr", "num", "number", "nummer", "key"])
"""A header that ends so, and whose cells are all different, numbers its records."""
_QUALIFIERS = (
    "addr address adresse adres direccion indirizzo endereco morada adresa adress osoite cim "
    "billing bill invoice rechnung rechnungs facturation facturacion fatturazione faturacao faktura "
    "shipping ship delivery liefer lieferung lieferanschrift livraison envio consegna spedizione lever "
    "mail mailing postal home private privat work office geschaeftlich "
    "primary main principal haupt secondary second other alternate current legal registered "
    "customer cust client kunde kunden kd klient klant kund cliente zakaznik ugyfel asiakas kunder "
    "patient pat person pers member mitglied lid membre socio employee mitarbeiter medewerker user owner "
    "resident voter account acct supplier vendor cobranca entrega domicile fakturacni dorucovaci koti"
)
QUALIFIERS = frozenset(_QUALIFIERS.split())
"""First words of headers that say whose or which, and not what: of a billing zip the zip."""
SUFFIXED = frozenset(["suffix", "suffixe", "sufijo", "suffisso", "sufixo"])
"""Words of headers for what stands behind a name."""
SUFFIXES = frozenset(["jr", "sr", "jnr", "snr", "i", "ii", "iii", "iv", "v"])
"""What stands behind a name."""
NO_FIELDS = {
    **dict.fromkeys(("voorletters", "initialen", "initials", "initialer"), "initials say less than names do"),
    **dict.fromkeys(
        ("toevoeging", "huisnummertoevoeging", "huisletter"), "it only adds to the number of a house"
    ),
}
"""Columns that are left out by their name, and why."""
ENDINGS = (
    ("vorname", ColumnKind.GIVEN),
    ("nachname", ColumnKind.SURNAME),
    ("geburtsdatum", ColumnKind.BIRTH),
    ("geburtsjahr", ColumnKind.BIRTH_YEAR),
    ("hausnummer", ColumnKind.HOUSE),
    ("datum", ColumnKind.DATE),
    ("strasse", ColumnKind.STREET),
    ("preis", ColumnKind.PRICE),
    ("telefon", ColumnKind.PHONE),
)
"""German joins words."""
TRIOS = (
    ("by", "bm", "bd"),
    ("year", "month", "day"),
    ("jahr", "monat", "tag"),
    ("annee", "mois", "jour"),
    ("ano", "mes", "dia"),
    ("anno", "mese", "giorno"),
    ("jaar", "maand", "dag"),
    ("rok", "miesiac", "dzien"),
    ("ar", "manad", "dag"),
)
"""Year, month and day in columns of their own, which mean a birth only together; of the first no doubt."""

MARKS = frozenset(
    [
        "-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "???", "*", "/", "_", "#", "()",
        "n/a", "#n/a", "n.a.", "n.a", "na", "<na>", "null", "(null)", "\\n", "none", "nil", "nan", "missing",
        "unknown", "unk", "not known", "not available", "not given", "not specified", "unspecified", "blank",
        "(blank)", "empty", "not applicable", "tbd", "withheld",
        "not stated", "not recorded", "not reported", "undetermined", "prefer not to say",
        "unbekannt", "k.a.", "k. a.", "k.a", "ka", "keine angabe", "keine angaben", "ohne angabe", "o.a.",
        "nicht bekannt", "(leer)", "leer", "fehlt", "entfällt",
        "inconnu", "inconnue", "non renseigné", "non renseigne", "non communiqué", "n.c.", "n.r.", "nsp",
        "s/d", "s/n", "s.d.", "sin datos", "sin dato", "desconocido", "desconocida", "no consta",
        "n/c", "n.d.", "sconosciuto", "sconosciuta", "non disponibile", "n.d", "nd", "ignoto", "ignota",
        "onbekend", "n.v.t.", "nvt", "geen",
        "desconhecido", "desconhecida", "não informado", "nao informado", "sem informação", "ignorado",
        "brak", "brak danych", "nieznany", "nieznana", "nieznane", "b.d.", "b/d",
        "okänd", "okänt", "saknas", "uppgift saknas",
    ]
)  # fmt: skip
"""Cells that say that nothing is known, in a column of any type."""
MAY_BE_NAMES = frozenset(
    ["na", "nil", "none", "null", "nan", "ka", "nd", "brak", "geen", "leer", "blank", "unk"]
)
"""Of these, what somebody may be called, or a code may be."""
UNKNOWN_CODES = (
    frozenset(["u", "un", "unk", "unkn", "unknown", "unbekannt", "inconnu", "desconocido", "onbekend"]),
    frozenset(["9", "99", "999"]),
)
"""Codes that mean unknown in all columns of codes if one of them does in one."""

_SPELLINGS = {
    "f": (
        "f w female woman girl fem weiblich frau mädchen femme féminin feminin fille madame mme mujer "
        "femenino hembra feminino mulher donna femmina femminile kobieta żeńska k vrouw vrouwelijk v kvinna "
        "kvinnlig mrs ms miss mlle sra srta signora sig.ra mevrouw mevr mw pani senhora fru "
        "žena zena ženská ž z nő kvinde kvinne nainen femeie paní slečna kv kvindelig kvinnelig vr weibl "
        "femin żeński zenska zenski ženski žensko zensko ženské ženský zenske femeiesc naispuolinen"
    ),
    "m": (
        "m h male man boy männlich maennlich mann herr homme masculin garçon monsieur hombre masculino varón "
        "varon uomo maschio maschile mężczyzna męska homem mannelijk manlig mr sr "
        "señor signor sig dhr heer pan senhor muž muz mužská férfi mand mies bărbat barbat mandlig mannlig "
        "masc männl maennl ffi ferfi mezczyzna męski meski meska muški muski muško musko moški moski mužské "
        "mužský muzske bărbătesc barbatesc miespuolinen"
    ),
    "x": "d x divers diverse nonbinary non-binary other nb autre otro altro",
}
SEXES = {word: sex for sex, words in _SPELLINGS.items() for word in words.split()}
"""What a cell of a column of sexes means: f, m, or x for another."""
_SPANISH = "sexo genero tratamiento tratamento"
_DUTCH = "geslacht geslachtsaanduiding aanhef"
LETTERS_OF_SEXES = tuple(
    (woman, man, frozenset(headers.split()))
    for (woman, man), headers in (
        ("mh", _SPANISH),  # mujer and hombre, mulher and homem
        ("mv", _SPANISH),  # mujer, varón
        ("hv", _SPANISH),  # hembra, varón
        ("-v", _SPANISH),
        ("vm", _DUTCH),  # vrouw, man
        ("vh", _DUTCH),  # vrouw, heer
        ("v-", _DUTCH),
        ("nf", "neme"),  # nő, férfi
        ("nm", "sukupuoli"),  # nainen, mies
        ("fb", "sex"),  # femeie, bărbat
    )
)
"""The letters of woman and man, and headers of the language, where these and no other words for sexes are
used, or - for none. Where languages differ, the header decides."""
OTHER_SEXES = frozenset("bn")
"""Letters that mean a sex only so."""
UNSURE_SEXES = frozenset("v")
"""Letters that mean another sex in another language."""
NUMBERED_SEXES = {"1": "m", "2": "f"}
"""By ISO 5218; 0 is not known and 9 not applicable."""
UNKNOWN_SEXES = frozenset(["u", "unk", "0", "9", "i", "o"])
_ANSWERS = {
    "yes": "yes y true t 1 ja j wahr oui o vrai sí sì si s verdadero vero sim verdadeiro tak prawda ano",
    "no": "no n false f 0 nein falsch non faux falso não nao nie fałsz nee onwaar nej falskt",
}
YES_NO = {word: answer for answer, words in _ANSWERS.items() for word in words.split()}
